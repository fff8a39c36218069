// SPDX-License-Identifier: BSD-2-Clause
//! Errors of the library.

use crate::abi;
use std::ffi::{CStr, CString};
use std::fmt;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An operation failed: a file, the kernel, a device.
    Failed,
    /// The request names something that does not exist, or is invalid.
    Usage,
    /// The input is damaged or cut; the part before the damage is valid.
    Damaged,
    /// This machine lacks something; the message says what.
    Absent,
    /// There is no memory.
    NoMemory,
}

/// An error: a message that says where it occurred.
#[derive(Clone, Debug)]
pub struct Error {
    code: Code,
    text: String,
}

impl Error {
    pub(crate) fn usage(text: String) -> Error {
        Error { code: Code::Usage, text }
    }

    /// Its kind.
    pub fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// Converts the result of a library function: NULL is success.
pub(crate) fn result(err: *mut abi::rs_error) -> Result<(), Error> {
    if err.is_null() {
        return Ok(());
    }
    unsafe {
        let code = match abi::rs_error_code(err) {
            abi::RS_USAGE => Code::Usage,
            abi::RS_DAMAGED => Code::Damaged,
            abi::RS_ABSENT => Code::Absent,
            abi::RS_NO_MEMORY => Code::NoMemory,
            _ => Code::Failed,
        };
        let text = CStr::from_ptr(abi::rs_error_text(err)).to_string_lossy().into_owned();
        abi::rs_error_free(err);
        Err(Error { code, text })
    }
}

/// A text for the library, which must not contain a NUL.
pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::usage(format!("{:?}: a text with a NUL in it", text)))
}

/// The same for an optional text, which is NULL for the library if it is missing.
pub(crate) fn c_option(text: Option<&str>) -> Result<Option<CString>, Error> {
    text.map(c_text).transpose()
}

pub(crate) fn c_pointer(text: &Option<CString>) -> *const crate::ctypes::c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr() as *const _)
}
