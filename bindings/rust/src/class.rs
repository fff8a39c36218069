// SPDX-License-Identifier: BSD-2-Clause
//! Classes, which are on or off: those of Ringside's own events, and up to 16 of the program.
#![allow(non_upper_case_globals)]

use crate::abi;

/// A class of spans and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(u32);

impl Class {
    /// All classes.
    pub const ALL: Class = Class(abi::RS_ABI_CLASS_ALL);

    /// Returns the program's n-th own class, from 0 to 15. [`classes!`](crate::classes) names it.
    pub const fn user(n: u32) -> Class {
        assert!(n < 16, "a program has 16 classes");
        Class(abi::RS_ABI_USER_CLASS_0 << n)
    }

    /// Returns the classes as a mask, for [`set_mask`](crate::host::set_mask).
    #[inline(always)]
    pub const fn mask(self) -> u32 {
        self.0
    }

    /// Returns both classes together, for a mask.
    pub const fn and(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }
}

/// `span!(span, ...)`.
pub const span: Class = Class(abi::RS_CLASS_span);
/// Functions.
pub const func: Class = Class(abi::RS_CLASS_func);
/// Creation, memory and load of VMs.
pub const vm: Class = Class(abi::RS_CLASS_vm);
/// A vCPU's entry and exit.
pub const vcpu: Class = Class(abi::RS_CLASS_vcpu);
/// Calls between host and guest.
pub const call: Class = Class(abi::RS_CLASS_call);
/// A guest's entry, its descriptor tables, its halt.
pub const boot: Class = Class(abi::RS_CLASS_boot);
/// Interrupts and exceptions.
pub const irq: Class = Class(abi::RS_CLASS_irq);
/// Lines of the log.
pub const log: Class = Class(abi::RS_CLASS_log);
/// Allocations: [`memory`](crate::memory).
pub const mem: Class = Class(abi::RS_CLASS_mem);
/// Call stacks: [`stack!`](crate::stack).
pub const stack: Class = Class(abi::RS_CLASS_stack);

/// Names classes of the program, by their numbers from 0 to 15: `classes! { pub io = 0; net = 1;
/// }`.
#[macro_export]
macro_rules! classes {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $n:literal);* $(;)?) => {
        $($(#[$meta])* #[allow(non_upper_case_globals)]
        $vis const $name: $crate::Class = $crate::Class::user($n);)*
    };
}
