// SPDX-License-Identifier: BSD-2-Clause
//! The events of the catalogue for VMMs, from include/ringside/event/vmm.def:
//! `emit!(vmm::vcpu_exit { vcpu: 0, reason, detail: 0 })`. Those with a text take it as a second
//! argument: `emit!(vmm::vm_load { entry, size }, path)`.
#![allow(non_camel_case_types)]

use crate::abi;
use crate::class;

macro_rules! catalogue {
    ($(event $symbol:ident = $n:literal, $class:ident, $of:literal, $name:literal, $help:literal,
       { $($field:ident : $type:ident,)* $([$text:ident])? })*) => {
        $(
            #[doc = concat!("`", $of, "::", $name, "`: ", $help, ".")]
            #[repr(C, packed)]
            #[derive(Clone, Copy, Default)]
            #[allow(missing_docs)]
            pub struct $symbol { $(pub $field: crate::types::$type),* }
            catalogue!(@impl $symbol, $n, $class $(, $text)?);
        )*
    };
    (@impl $symbol:ident, $n:literal, $class:ident) => {
        unsafe impl crate::Event for $symbol {
            const CLASS: crate::Class = class::$class;
            #[inline(always)]
            fn id() -> u64 {
                abi::RS_ABI_ID_VMM_0 + $n
            }
        }
    };
    (@impl $symbol:ident, $n:literal, $class:ident, $text:ident) => {
        unsafe impl crate::TextEvent for $symbol {
            const CLASS: crate::Class = class::$class;
            #[inline(always)]
            fn id() -> u64 {
                abi::RS_ABI_ID_VMM_0 + $n
            }
        }
    };
}

include!("abi/vmm.rs");
