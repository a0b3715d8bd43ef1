//! Tells the errors of a writer from those of a reader that is copied into it.

use crate::error::{Error, Result};
use std::io::{self, Write};

/// Writes on, and keeps the error with which that ended.
pub(crate) struct Telling<W> {
    to: W,
    refused: Option<io::Error>,
}

impl<W: Write> Telling<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, refused: None }
    }

    /// The result of what wrote here; if a write failed, its error instead, as `failed` names it.
    pub(crate) fn told<T>(
        self,
        result: Result<T>,
        failed: impl FnOnce(io::Error) -> Error,
    ) -> Result<T> {
        self.refused.map_or(result, |refused| Err(failed(refused)))
    }
}

impl<W: Write> Write for Telling<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.to.write(bytes) {
            Ok(0) if !bytes.is_empty() => {
                self.refused = Some(io::ErrorKind::WriteZero.into());
                Ok(0)
            }
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let kind = error.kind();
                self.refused = Some(error);
                Err(kind.into())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_side_that_failed() {
        let told = |reader: &mut dyn io::Read, room: &mut [u8]| {
            let mut out = Telling::new(room);
            let copied = io::copy(reader, &mut out).map_err(Error::io("read", "in"));
            out.told(copied, Error::io("write", "out")).map_err(|error| error.to_string())
        };
        assert_eq!(told(&mut &b"abc"[..], &mut [0; 3]), Ok(3));
        assert_eq!(told(&mut &b"abc"[..], &mut [0; 2]), Err("cannot write out".to_owned()));
        let mut broken = io::Read::chain(&b"a"[..], Broken);
        assert_eq!(told(&mut broken, &mut [0; 3]), Err("cannot read in".to_owned()));
    }

    struct Broken;

    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}
