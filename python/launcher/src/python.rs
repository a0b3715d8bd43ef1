//! Stand-ins for what the library takes from Python. Python is not there, and nothing of it is
//! used; but a library is loaded only where all names that it takes are found.
//!
//! The names, of a wheel for every Python and of one for a free-threaded one:
//! `nm -D --undefined-only _bitsort.*.so | grep -o ' _*Py.*' | sort`.

macro_rules! stand_ins {
    ($($name:ident)*) => {
        core::arch::global_asm!(
            ".data",
            ".balign 16",
            $( concat!(".globl ", prefix!(), stringify!($name)),
               concat!(prefix!(), stringify!($name), ":"), )*
            ".zero 16",
        );
    };
}

#[cfg(target_vendor = "apple")]
macro_rules! prefix {
    () => {
        "_"
    };
}

#[cfg(not(target_vendor = "apple"))]
macro_rules! prefix {
    () => {
        ""
    };
}

stand_ins! {
    PyBaseObject_Type
    PyBool_Type
    PyBuffer_Release
    PyBuffer_ToContiguous
    PyByteArray_AsString
    PyByteArray_Size
    PyByteArray_Type
    PyBytes_AsString
    PyBytes_FromStringAndSize
    PyBytes_Size
    PyBytes_Type
    PyCMethod_New
    PyCapsule_GetName
    PyCapsule_GetPointer
    PyCapsule_New
    PyCapsule_Type
    PyCriticalSection_Begin
    PyCriticalSection_End
    PyDict_New
    PyDict_Next
    PyDict_SetItem
    PyDict_Size
    PyDict_Type
    PyErr_CheckSignals
    PyErr_Clear
    PyErr_ExceptionMatches
    PyErr_Fetch
    PyErr_GetRaisedException
    PyErr_GivenExceptionMatches
    PyErr_NewExceptionWithDoc
    PyErr_NormalizeException
    PyErr_Occurred
    PyErr_PrintEx
    PyErr_Restore
    PyErr_SetObject
    PyErr_SetRaisedException
    PyErr_SetString
    PyErr_WriteUnraisable
    PyEval_RestoreThread
    PyEval_SaveThread
    PyExc_AttributeError
    PyExc_BaseException
    PyExc_BlockingIOError
    PyExc_BrokenPipeError
    PyExc_BufferError
    PyExc_ConnectionAbortedError
    PyExc_ConnectionRefusedError
    PyExc_ConnectionResetError
    PyExc_Exception
    PyExc_FileExistsError
    PyExc_FileNotFoundError
    PyExc_ImportError
    PyExc_IndexError
    PyExc_InterruptedError
    PyExc_IsADirectoryError
    PyExc_KeyError
    PyExc_KeyboardInterrupt
    PyExc_MemoryError
    PyExc_NotADirectoryError
    PyExc_NotImplementedError
    PyExc_OSError
    PyExc_OverflowError
    PyExc_PermissionError
    PyExc_RuntimeError
    PyExc_SystemError
    PyExc_TimeoutError
    PyExc_TypeError
    PyExc_ValueError
    PyException_GetTraceback
    PyException_SetCause
    PyException_SetTraceback
    PyFloat_AsDouble
    PyFloat_FromDouble
    PyFloat_Type
    PyFrozenSet_Type
    PyGILState_Ensure
    PyGILState_Release
    PyImport_Import
    PyIter_Next
    PyIter_NextItem
    PyList_AsTuple
    PyList_Append
    PyList_New
    PyList_SetItem
    PyList_Type
    PyLong_AsLong
    PyLong_AsNativeBytes
    PyLong_AsUnsignedLongLong
    PyLong_AsUnsignedLongLongMask
    PyLong_Export
    PyLong_FreeExport
    PyLong_FromLong
    PyLong_FromSsize_t
    PyLong_FromUnsignedLongLong
    PyLong_GetNativeLayout
    PyLong_Type
    PyMemoryView_FromObject
    PyModuleDef_Init
    PyModule_GetNameObject
    PyModule_Type
    PyNumber_Index
    PyNumber_Negative
    PyNumber_Rshift
    PyOS_FSPath
    PyObject_Call
    PyObject_CallMethodObjArgs
    PyObject_CallNoArgs
    PyObject_CallOneArg
    PyObject_CheckBuffer
    PyObject_ClearWeakRefs
    PyObject_DelItem
    PyObject_GC_UnTrack
    PyObject_GenericGetDict
    PyObject_GenericSetDict
    PyObject_GetAttr
    PyObject_GetBuffer
    PyObject_GetItem
    PyObject_GetIter
    PyObject_HasAttrWithError
    PyObject_IsInstance
    PyObject_IsTrue
    PyObject_LengthHint
    PyObject_Repr
    PyObject_RichCompare
    PyObject_SetAttr
    PyObject_SetAttrString
    PyObject_SetItem
    PyObject_Size
    PyObject_Str
    PyObject_Vectorcall
    PyObject_VectorcallDict
    PyObject_VectorcallMethod
    PyRange_Type
    PySequence_Check
    PySet_Type
    PySlice_AdjustIndices
    PySlice_Type
    PySlice_Unpack
    PyTraceBack_Print
    PyTuple_GetItem
    PyTuple_New
    PyTuple_SetItem
    PyTuple_Size
    PyTuple_Type
    PyType_Freeze
    PyType_FromSpec
    PyType_GetFlags
    PyType_GetModuleName
    PyType_GetName
    PyType_GetQualName
    PyType_GetSlot
    PyType_IsSubtype
    PyType_Type
    PyUnicodeWriter_Create
    PyUnicodeWriter_Discard
    PyUnicodeWriter_Finish
    PyUnicodeWriter_WriteChar
    PyUnicodeWriter_WriteUTF8
    PyUnicode_AsEncodedString
    PyUnicode_AsUTF8AndSize
    PyUnicode_DecodeFSDefaultAndSize
    PyUnicode_EncodeFSDefault
    PyUnicode_EqualToUTF8AndSize
    PyUnicode_FromStringAndSize
    PyUnicode_InternInPlace
    PyUnicode_Type
    Py_IsFinalizing
    Py_IsInitialized
    _Py_DecRef
    _Py_FalseStruct
    _Py_IncRef
    _Py_NoneStruct
    _Py_NotImplementedStruct
    _Py_TrueStruct
}
