"""Sets of natural numbers in memory and in mapped files, Bloom filters, and a sort within a
memory limit.

>>> import bitsort as bs
>>> ids = bs.BitSet([3, 40]) | bs.BitSet.from_ranges([(100, 200)])
>>> len(ids), 150 in ids, ids.rank(100), ids[-1]
(102, True, 3, 199)
"""

from bitsort import _bitsort
from bitsort._bitsort import *

__all__ = _bitsort.__all__
__version__ = _bitsort.__version__
