// SPDX-License-Identifier: BSD-2-Clause
// Written by scripts/rust-abi from the headers in include/ringside: do not edit.

pub const RS_SLOT_BYTES: u32 = 32;
pub const RS_RECORD_HEAD: u32 = 16;
pub const RS_RECORD_PAYLOAD_MAX: u32 = 2032;
pub const RS_STACK_DEPTH_MAX: u32 = 64;
pub const RS_LOG_LINE_MAX: u32 = 320;
pub const RS_DOORBELL_PORT: u32 = 21075;
pub const RS_GUEST_VCPUS_MAX: u32 = 256;
pub const RS_FAILED: rs_code = 0;
pub const RS_USAGE: rs_code = 1;
pub const RS_DAMAGED: rs_code = 2;
pub const RS_ABSENT: rs_code = 3;
pub const RS_NO_MEMORY: rs_code = 4;
pub type rs_code = crate::ctypes::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_error {
    _unused: [u8; 0],
}
extern "C" {
    pub fn rs_error_text(err: *const rs_error) -> *const crate::ctypes::c_char;
}
extern "C" {
    pub fn rs_error_code(err: *const rs_error) -> rs_code;
}
extern "C" {
    pub fn rs_error_free(err: *mut rs_error);
}
pub type __uint8_t = crate::ctypes::c_uchar;
pub type __uint32_t = crate::ctypes::c_uint;
pub type __int64_t = crate::ctypes::c_long;
pub type __uint64_t = crate::ctypes::c_ulong;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_sbuf {
    pub magic: u64,
    pub ele_num: u32,
    pub ele_size: u32,
    pub head: u32,
    pub tail: u32,
    pub flags: u64,
    pub overrun_cnt: u32,
    pub size: u32,
    pub position: u64,
    pub refused: u64,
    pub read: u64,
}
#[test]
fn bindgen_test_layout_rs_sbuf() {
    assert_eq!(
        ::core::mem::size_of::<rs_sbuf>(),
        64usize,
        concat!("Size of: ", stringify!(rs_sbuf))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_sbuf>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_sbuf))
    );
    fn test_field_magic() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).magic) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(magic)
            )
        );
    }
    test_field_magic();
    fn test_field_ele_num() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ele_num) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(ele_num)
            )
        );
    }
    test_field_ele_num();
    fn test_field_ele_size() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ele_size) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(ele_size)
            )
        );
    }
    test_field_ele_size();
    fn test_field_head() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).head) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(head)
            )
        );
    }
    test_field_head();
    fn test_field_tail() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).tail) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(tail)
            )
        );
    }
    test_field_tail();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_overrun_cnt() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).overrun_cnt) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(overrun_cnt)
            )
        );
    }
    test_field_overrun_cnt();
    fn test_field_size() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).size) as usize - ptr as usize
            },
            36usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(size)
            )
        );
    }
    test_field_size();
    fn test_field_position() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).position) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(position)
            )
        );
    }
    test_field_position();
    fn test_field_refused() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).refused) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(refused)
            )
        );
    }
    test_field_refused();
    fn test_field_read() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).read) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf),
                "::",
                stringify!(read)
            )
        );
    }
    test_field_read();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_sbuf_producer {
    pub reserve: u64,
    pub limit: u64,
    pub published: u64,
    pub ring: *mut rs_sbuf,
    pub cpu_bits: u64,
    pub refused: u64,
    pub reported: u64,
    pub lost_from: u64,
    pub refused_before: u64,
    pub full: ::core::option::Option<unsafe extern "C" fn(arg1: *mut rs_sbuf_producer) -> bool>,
    pub size: u32,
    pub ele_size: u32,
    pub depth: u32,
    pub reserved: u32,
    pub stack_low: u64,
    pub stack_top: u64,
    pub sample_left: u64,
    pub sample_interval: u64,
    pub sample_state: u64,
}
#[test]
fn bindgen_test_layout_rs_sbuf_producer() {
    assert_eq!(
        ::core::mem::size_of::<rs_sbuf_producer>(),
        136usize,
        concat!("Size of: ", stringify!(rs_sbuf_producer))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_sbuf_producer>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_sbuf_producer))
    );
    fn test_field_reserve() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).reserve) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(reserve)
            )
        );
    }
    test_field_reserve();
    fn test_field_limit() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).limit) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(limit)
            )
        );
    }
    test_field_limit();
    fn test_field_published() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).published) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(published)
            )
        );
    }
    test_field_published();
    fn test_field_ring() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ring) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(ring)
            )
        );
    }
    test_field_ring();
    fn test_field_cpu_bits() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cpu_bits) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(cpu_bits)
            )
        );
    }
    test_field_cpu_bits();
    fn test_field_refused() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).refused) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(refused)
            )
        );
    }
    test_field_refused();
    fn test_field_reported() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).reported) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(reported)
            )
        );
    }
    test_field_reported();
    fn test_field_lost_from() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).lost_from) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(lost_from)
            )
        );
    }
    test_field_lost_from();
    fn test_field_refused_before() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).refused_before) as usize - ptr as usize
            },
            64usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(refused_before)
            )
        );
    }
    test_field_refused_before();
    fn test_field_full() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).full) as usize - ptr as usize
            },
            72usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(full)
            )
        );
    }
    test_field_full();
    fn test_field_size() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).size) as usize - ptr as usize
            },
            80usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(size)
            )
        );
    }
    test_field_size();
    fn test_field_ele_size() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ele_size) as usize - ptr as usize
            },
            84usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(ele_size)
            )
        );
    }
    test_field_ele_size();
    fn test_field_depth() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).depth) as usize - ptr as usize
            },
            88usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(depth)
            )
        );
    }
    test_field_depth();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            92usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_stack_low() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).stack_low) as usize - ptr as usize
            },
            96usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(stack_low)
            )
        );
    }
    test_field_stack_low();
    fn test_field_stack_top() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).stack_top) as usize - ptr as usize
            },
            104usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(stack_top)
            )
        );
    }
    test_field_stack_top();
    fn test_field_sample_left() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).sample_left) as usize - ptr as usize
            },
            112usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(sample_left)
            )
        );
    }
    test_field_sample_left();
    fn test_field_sample_interval() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).sample_interval) as usize - ptr as usize
            },
            120usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(sample_interval)
            )
        );
    }
    test_field_sample_interval();
    fn test_field_sample_state() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_producer>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).sample_state) as usize - ptr as usize
            },
            128usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_producer),
                "::",
                stringify!(sample_state)
            )
        );
    }
    test_field_sample_state();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_sbuf_room {
    pub at: *mut u8,
    pub ring: *mut rs_sbuf,
    pub tsc: u64,
    pub start: u64,
}
#[test]
fn bindgen_test_layout_rs_sbuf_room() {
    assert_eq!(
        ::core::mem::size_of::<rs_sbuf_room>(),
        32usize,
        concat!("Size of: ", stringify!(rs_sbuf_room))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_sbuf_room>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_sbuf_room))
    );
    fn test_field_at() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_room>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).at) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_room),
                "::",
                stringify!(at)
            )
        );
    }
    test_field_at();
    fn test_field_ring() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_room>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ring) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_room),
                "::",
                stringify!(ring)
            )
        );
    }
    test_field_ring();
    fn test_field_tsc() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_room>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).tsc) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_room),
                "::",
                stringify!(tsc)
            )
        );
    }
    test_field_tsc();
    fn test_field_start() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_sbuf_room>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).start) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_sbuf_room),
                "::",
                stringify!(start)
            )
        );
    }
    test_field_start();
}
extern "C" {
    pub fn rs_sbuf_reserve_slow(p: *mut rs_sbuf_producer, bytes: u32) -> rs_sbuf_room;
}
extern "C" {
    pub fn rs_sbuf_publish_again(p: *mut rs_sbuf_producer, to: u64);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_slot {
    pub tsc: u64,
    pub head: u64,
    pub payload: [u8; 16usize],
}
#[test]
fn bindgen_test_layout_rs_slot() {
    assert_eq!(
        ::core::mem::size_of::<rs_slot>(),
        32usize,
        concat!("Size of: ", stringify!(rs_slot))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_slot>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_slot))
    );
    fn test_field_tsc() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_slot>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).tsc) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_slot),
                "::",
                stringify!(tsc)
            )
        );
    }
    test_field_tsc();
    fn test_field_head() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_slot>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).head) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_slot),
                "::",
                stringify!(head)
            )
        );
    }
    test_field_head();
    fn test_field_payload() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_slot>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).payload) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_slot),
                "::",
                stringify!(payload)
            )
        );
    }
    test_field_payload();
}
#[repr(C, packed)]
#[derive(Debug, Copy, Clone)]
pub struct rs_span {
    pub name: u32,
    pub depth: u32,
    pub arg: u64,
}
#[test]
fn bindgen_test_layout_rs_span() {
    assert_eq!(
        ::core::mem::size_of::<rs_span>(),
        16usize,
        concat!("Size of: ", stringify!(rs_span))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_span>(),
        1usize,
        concat!("Alignment of ", stringify!(rs_span))
    );
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_span>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_span),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_depth() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_span>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).depth) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_span),
                "::",
                stringify!(depth)
            )
        );
    }
    test_field_depth();
    fn test_field_arg() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_span>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).arg) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_span),
                "::",
                stringify!(arg)
            )
        );
    }
    test_field_arg();
}
extern "C" {
    pub fn rs_emit_text(
        p: *mut rs_sbuf_producer,
        id: u64,
        payload: *const crate::ctypes::c_void,
        bytes: u32,
        text: *const crate::ctypes::c_char,
        len: usize,
    ) -> bool;
}
pub const RS_CLASS_span: _bindgen_ty_2 = 1;
pub const RS_CLASS_func: _bindgen_ty_2 = 2;
pub const RS_CLASS_vm: _bindgen_ty_2 = 4;
pub const RS_CLASS_vcpu: _bindgen_ty_2 = 8;
pub const RS_CLASS_call: _bindgen_ty_2 = 16;
pub const RS_CLASS_boot: _bindgen_ty_2 = 32;
pub const RS_CLASS_irq: _bindgen_ty_2 = 64;
pub const RS_CLASS_log: _bindgen_ty_2 = 128;
pub const RS_CLASS_mem: _bindgen_ty_2 = 256;
pub const RS_CLASS_stack: _bindgen_ty_2 = 512;
pub type _bindgen_ty_2 = crate::ctypes::c_uint;
pub const RS_SITE_NAME: rs_site_kind = 1;
pub const RS_SITE_EVENT: rs_site_kind = 2;
pub const RS_SITE_SPAN: rs_site_kind = 3;
pub type rs_site_kind = crate::ctypes::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_site {
    pub text: *const crate::ctypes::c_char,
    pub len: u32,
    pub kind: u32,
    pub id: u32,
    pub reserved: u32,
}
#[test]
fn bindgen_test_layout_rs_site() {
    assert_eq!(
        ::core::mem::size_of::<rs_site>(),
        24usize,
        concat!("Size of: ", stringify!(rs_site))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_site>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_site))
    );
    fn test_field_text() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_site>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).text) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_site),
                "::",
                stringify!(text)
            )
        );
    }
    test_field_text();
    fn test_field_len() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_site>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).len) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_site),
                "::",
                stringify!(len)
            )
        );
    }
    test_field_len();
    fn test_field_kind() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_site>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).kind) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_site),
                "::",
                stringify!(kind)
            )
        );
    }
    test_field_kind();
    fn test_field_id() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_site>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).id) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_site),
                "::",
                stringify!(id)
            )
        );
    }
    test_field_id();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_site>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_site),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_trace_options {
    pub provider: *const crate::ctypes::c_char,
    pub mask: u32,
    pub ring_bytes: u32,
}
#[test]
fn bindgen_test_layout_rs_trace_options() {
    assert_eq!(
        ::core::mem::size_of::<rs_trace_options>(),
        16usize,
        concat!("Size of: ", stringify!(rs_trace_options))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_trace_options>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_trace_options))
    );
    fn test_field_provider() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_trace_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).provider) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_trace_options),
                "::",
                stringify!(provider)
            )
        );
    }
    test_field_provider();
    fn test_field_mask() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_trace_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).mask) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_trace_options),
                "::",
                stringify!(mask)
            )
        );
    }
    test_field_mask();
    fn test_field_ring_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_trace_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ring_bytes) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_trace_options),
                "::",
                stringify!(ring_bytes)
            )
        );
    }
    test_field_ring_bytes();
}
extern "C" {
    pub fn rs_trace_start(options: *const rs_trace_options) -> *mut rs_error;
}
extern "C" {
    pub fn rs_trace_set_mask(mask: u32);
}
extern "C" {
    pub fn rs_trace_stop();
}
extern "C" {
    pub fn rs_trace_thread(vm: *const crate::ctypes::c_char, vcpu: crate::ctypes::c_int);
}
extern "C" {
    pub fn rs_trace_has_addresses();
}
extern "C" {
    pub fn rs_trace_name(text: *const crate::ctypes::c_char) -> u32;
}
extern "C" {
    pub fn rs_trace_register_sites(begin: *mut rs_site, end: *mut rs_site);
}
pub const RS_LOG_FATAL: rs_log_level = 1;
pub const RS_LOG_ACRN: rs_log_level = 2;
pub const RS_LOG_ERROR: rs_log_level = 3;
pub const RS_LOG_WARNING: rs_log_level = 4;
pub const RS_LOG_INFO: rs_log_level = 5;
pub const RS_LOG_DEBUG: rs_log_level = 6;
pub type rs_log_level = crate::ctypes::c_uint;
pub const RS_LOG_CONSOLE: rs_log_sink = 0;
pub const RS_LOG_MEMORY: rs_log_sink = 1;
pub const RS_LOG_SINKS: rs_log_sink = 2;
pub type rs_log_sink = crate::ctypes::c_uint;
extern "C" {
    pub static mut rs_log_levels: *const u32;
}
extern "C" {
    pub fn rs_log_put(level: rs_log_level, format: *const crate::ctypes::c_char, ...);
}
extern "C" {
    pub fn rs_log_thread(name: *const crate::ctypes::c_char);
}
extern "C" {
    pub fn rs_log_set_level(sink: rs_log_sink, level: u32);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_log_options {
    pub path: *const crate::ctypes::c_char,
    pub name: *const crate::ctypes::c_char,
    pub bytes: u64,
    pub trace_bytes: u64,
    pub lanes: u32,
    pub last: *const crate::ctypes::c_char,
}
#[test]
fn bindgen_test_layout_rs_log_options() {
    assert_eq!(
        ::core::mem::size_of::<rs_log_options>(),
        48usize,
        concat!("Size of: ", stringify!(rs_log_options))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_log_options>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_log_options))
    );
    fn test_field_path() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).path) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(path)
            )
        );
    }
    test_field_path();
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
    fn test_field_trace_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).trace_bytes) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(trace_bytes)
            )
        );
    }
    test_field_trace_bytes();
    fn test_field_lanes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).lanes) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(lanes)
            )
        );
    }
    test_field_lanes();
    fn test_field_last() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).last) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_options),
                "::",
                stringify!(last)
            )
        );
    }
    test_field_last();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_log_left {
    pub runs: u32,
    pub orderly: u32,
    pub crashed: u32,
    pub lines: u64,
    pub missing: u64,
    pub torn: u64,
    pub records: u64,
    pub damaged: u32,
    pub file: [crate::ctypes::c_char; 1024usize],
    pub remark: [crate::ctypes::c_char; 256usize],
}
#[test]
fn bindgen_test_layout_rs_log_left() {
    assert_eq!(
        ::core::mem::size_of::<rs_log_left>(),
        1336usize,
        concat!("Size of: ", stringify!(rs_log_left))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_log_left>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_log_left))
    );
    fn test_field_runs() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).runs) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(runs)
            )
        );
    }
    test_field_runs();
    fn test_field_orderly() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).orderly) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(orderly)
            )
        );
    }
    test_field_orderly();
    fn test_field_crashed() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).crashed) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(crashed)
            )
        );
    }
    test_field_crashed();
    fn test_field_lines() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).lines) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(lines)
            )
        );
    }
    test_field_lines();
    fn test_field_missing() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).missing) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(missing)
            )
        );
    }
    test_field_missing();
    fn test_field_torn() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).torn) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(torn)
            )
        );
    }
    test_field_torn();
    fn test_field_records() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).records) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(records)
            )
        );
    }
    test_field_records();
    fn test_field_damaged() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).damaged) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(damaged)
            )
        );
    }
    test_field_damaged();
    fn test_field_file() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).file) as usize - ptr as usize
            },
            52usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(file)
            )
        );
    }
    test_field_file();
    fn test_field_remark() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_log_left>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).remark) as usize - ptr as usize
            },
            1076usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_log_left),
                "::",
                stringify!(remark)
            )
        );
    }
    test_field_remark();
}
extern "C" {
    pub fn rs_log_start(options: *const rs_log_options, left: *mut rs_log_left) -> *mut rs_error;
}
extern "C" {
    pub fn rs_log_stop();
}
extern "C" {
    pub fn rs_log_recover(
        path: *const crate::ctypes::c_char,
        directory: *const crate::ctypes::c_char,
        files: u32,
        left: *mut rs_log_left,
    ) -> *mut rs_error;
}
pub const RS_STACKS_NONE: rs_stacks = 0;
pub const RS_STACKS_FRAMES: rs_stacks = 1;
pub const RS_STACKS_HOST: rs_stacks = 2;
pub type rs_stacks = crate::ctypes::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_memory_options {
    pub interval: u64,
    pub stacks: rs_stacks,
    pub depth: u32,
    pub seed: u64,
    pub live: *mut crate::ctypes::c_void,
    pub live_bytes: u64,
    pub host_stacks: *mut rs_guest_stack,
    pub n_host_stacks: u32,
}
#[test]
fn bindgen_test_layout_rs_memory_options() {
    assert_eq!(
        ::core::mem::size_of::<rs_memory_options>(),
        56usize,
        concat!("Size of: ", stringify!(rs_memory_options))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_memory_options>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_memory_options))
    );
    fn test_field_interval() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).interval) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(interval)
            )
        );
    }
    test_field_interval();
    fn test_field_stacks() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).stacks) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(stacks)
            )
        );
    }
    test_field_stacks();
    fn test_field_depth() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).depth) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(depth)
            )
        );
    }
    test_field_depth();
    fn test_field_seed() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).seed) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(seed)
            )
        );
    }
    test_field_seed();
    fn test_field_live() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).live) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(live)
            )
        );
    }
    test_field_live();
    fn test_field_live_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).live_bytes) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(live_bytes)
            )
        );
    }
    test_field_live_bytes();
    fn test_field_host_stacks() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).host_stacks) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(host_stacks)
            )
        );
    }
    test_field_host_stacks();
    fn test_field_n_host_stacks() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_memory_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).n_host_stacks) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_memory_options),
                "::",
                stringify!(n_host_stacks)
            )
        );
    }
    test_field_n_host_stacks();
}
extern "C" {
    pub fn rs_memory_configure(p: *mut rs_sbuf_producer, options: *const rs_memory_options)
        -> bool;
}
extern "C" {
    pub fn rs_memory_put_alloc(
        p: *mut rs_sbuf_producer,
        here: u64,
        frame: *const crate::ctypes::c_void,
        address: *const crate::ctypes::c_void,
        size: u64,
        align: u32,
    );
}
extern "C" {
    pub fn rs_memory_put_free(
        p: *mut rs_sbuf_producer,
        here: u64,
        frame: *const crate::ctypes::c_void,
        address: *const crate::ctypes::c_void,
    );
}
extern "C" {
    pub fn rs_memory_put_moving(
        p: *mut rs_sbuf_producer,
        from: *const crate::ctypes::c_void,
    ) -> bool;
}
extern "C" {
    pub fn rs_memory_put_realloc(
        p: *mut rs_sbuf_producer,
        here: u64,
        frame: *const crate::ctypes::c_void,
        from: *const crate::ctypes::c_void,
        recorded: bool,
        address: *const crate::ctypes::c_void,
        size: u64,
    );
}
extern "C" {
    pub fn rs_stack_put_sample(
        p: *mut rs_sbuf_producer,
        here: u64,
        frame: *const crate::ctypes::c_void,
        name: u32,
    );
}
extern "C" {
    pub fn rs_memory_dropped() -> u64;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_stack {
    pub n: u32,
    pub max: u32,
    pub busy: u64,
    pub by_fp: u64,
    pub frames: [u64; 64usize],
}
#[test]
fn bindgen_test_layout_rs_guest_stack() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_stack>(),
        536usize,
        concat!("Size of: ", stringify!(rs_guest_stack))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_stack>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_stack))
    );
    fn test_field_n() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_stack>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).n) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_stack),
                "::",
                stringify!(n)
            )
        );
    }
    test_field_n();
    fn test_field_max() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_stack>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).max) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_stack),
                "::",
                stringify!(max)
            )
        );
    }
    test_field_max();
    fn test_field_busy() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_stack>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).busy) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_stack),
                "::",
                stringify!(busy)
            )
        );
    }
    test_field_busy();
    fn test_field_by_fp() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_stack>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).by_fp) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_stack),
                "::",
                stringify!(by_fp)
            )
        );
    }
    test_field_by_fp();
    fn test_field_frames() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_stack>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).frames) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_stack),
                "::",
                stringify!(frames)
            )
        );
    }
    test_field_frames();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_x86_regs {
    pub gpr: [u64; 16usize],
    pub rip: u64,
    pub eflags: u32,
    pub cs: u32,
    pub ss: u32,
    pub ds: u32,
    pub es: u32,
    pub fs: u32,
    pub gs: u32,
    pub fs_base: u64,
    pub gs_base: u64,
    pub k_gs_base: u64,
    pub cr0: u64,
    pub cr2: u64,
    pub cr3: u64,
    pub cr4: u64,
    pub cr8: u64,
    pub efer: u64,
}
#[test]
fn bindgen_test_layout_rs_x86_regs() {
    assert_eq!(
        ::core::mem::size_of::<rs_x86_regs>(),
        240usize,
        concat!("Size of: ", stringify!(rs_x86_regs))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_x86_regs>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_x86_regs))
    );
    fn test_field_gpr() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).gpr) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(gpr)
            )
        );
    }
    test_field_gpr();
    fn test_field_rip() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).rip) as usize - ptr as usize
            },
            128usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(rip)
            )
        );
    }
    test_field_rip();
    fn test_field_eflags() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).eflags) as usize - ptr as usize
            },
            136usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(eflags)
            )
        );
    }
    test_field_eflags();
    fn test_field_cs() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cs) as usize - ptr as usize
            },
            140usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cs)
            )
        );
    }
    test_field_cs();
    fn test_field_ss() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ss) as usize - ptr as usize
            },
            144usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(ss)
            )
        );
    }
    test_field_ss();
    fn test_field_ds() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ds) as usize - ptr as usize
            },
            148usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(ds)
            )
        );
    }
    test_field_ds();
    fn test_field_es() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).es) as usize - ptr as usize
            },
            152usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(es)
            )
        );
    }
    test_field_es();
    fn test_field_fs() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).fs) as usize - ptr as usize
            },
            156usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(fs)
            )
        );
    }
    test_field_fs();
    fn test_field_gs() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).gs) as usize - ptr as usize
            },
            160usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(gs)
            )
        );
    }
    test_field_gs();
    fn test_field_fs_base() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).fs_base) as usize - ptr as usize
            },
            168usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(fs_base)
            )
        );
    }
    test_field_fs_base();
    fn test_field_gs_base() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).gs_base) as usize - ptr as usize
            },
            176usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(gs_base)
            )
        );
    }
    test_field_gs_base();
    fn test_field_k_gs_base() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).k_gs_base) as usize - ptr as usize
            },
            184usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(k_gs_base)
            )
        );
    }
    test_field_k_gs_base();
    fn test_field_cr0() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cr0) as usize - ptr as usize
            },
            192usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cr0)
            )
        );
    }
    test_field_cr0();
    fn test_field_cr2() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cr2) as usize - ptr as usize
            },
            200usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cr2)
            )
        );
    }
    test_field_cr2();
    fn test_field_cr3() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cr3) as usize - ptr as usize
            },
            208usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cr3)
            )
        );
    }
    test_field_cr3();
    fn test_field_cr4() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cr4) as usize - ptr as usize
            },
            216usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cr4)
            )
        );
    }
    test_field_cr4();
    fn test_field_cr8() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).cr8) as usize - ptr as usize
            },
            224usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(cr8)
            )
        );
    }
    test_field_cr8();
    fn test_field_efer() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_x86_regs>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).efer) as usize - ptr as usize
            },
            232usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_x86_regs),
                "::",
                stringify!(efer)
            )
        );
    }
    test_field_efer();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_clock {
    pub name: [crate::ctypes::c_char; 64usize],
    pub id: u64,
    pub freq_hz: u64,
    pub origin: u64,
    pub wall_ns: i64,
    pub raw_ns: u64,
    pub offset: i64,
    pub error_cycles: u64,
    pub invariant: bool,
    pub monotonic: bool,
    pub freq_from: [crate::ctypes::c_char; 32usize],
    pub ns_mult: u64,
}
#[test]
fn bindgen_test_layout_rs_clock() {
    assert_eq!(
        ::core::mem::size_of::<rs_clock>(),
        168usize,
        concat!("Size of: ", stringify!(rs_clock))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_clock>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_clock))
    );
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_id() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).id) as usize - ptr as usize
            },
            64usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(id)
            )
        );
    }
    test_field_id();
    fn test_field_freq_hz() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).freq_hz) as usize - ptr as usize
            },
            72usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(freq_hz)
            )
        );
    }
    test_field_freq_hz();
    fn test_field_origin() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).origin) as usize - ptr as usize
            },
            80usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(origin)
            )
        );
    }
    test_field_origin();
    fn test_field_wall_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).wall_ns) as usize - ptr as usize
            },
            88usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(wall_ns)
            )
        );
    }
    test_field_wall_ns();
    fn test_field_raw_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).raw_ns) as usize - ptr as usize
            },
            96usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(raw_ns)
            )
        );
    }
    test_field_raw_ns();
    fn test_field_offset() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).offset) as usize - ptr as usize
            },
            104usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(offset)
            )
        );
    }
    test_field_offset();
    fn test_field_error_cycles() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).error_cycles) as usize - ptr as usize
            },
            112usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(error_cycles)
            )
        );
    }
    test_field_error_cycles();
    fn test_field_invariant() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).invariant) as usize - ptr as usize
            },
            120usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(invariant)
            )
        );
    }
    test_field_invariant();
    fn test_field_monotonic() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).monotonic) as usize - ptr as usize
            },
            121usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(monotonic)
            )
        );
    }
    test_field_monotonic();
    fn test_field_freq_from() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).freq_from) as usize - ptr as usize
            },
            122usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(freq_from)
            )
        );
    }
    test_field_freq_from();
    fn test_field_ns_mult() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_clock>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ns_mult) as usize - ptr as usize
            },
            160usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_clock),
                "::",
                stringify!(ns_mult)
            )
        );
    }
    test_field_ns_mult();
}
extern "C" {
    pub fn rs_clock_host(clock: *mut rs_clock) -> *mut rs_error;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_memory {
    pub ctx: *mut crate::ctypes::c_void,
    pub read: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut crate::ctypes::c_void,
            gpa: u64,
            to: *mut crate::ctypes::c_void,
            bytes: usize,
        ) -> bool,
    >,
    pub write: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut crate::ctypes::c_void,
            gpa: u64,
            from: *const crate::ctypes::c_void,
            bytes: usize,
        ) -> bool,
    >,
}
#[test]
fn bindgen_test_layout_rs_guest_memory() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_memory>(),
        24usize,
        concat!("Size of: ", stringify!(rs_guest_memory))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_memory>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_memory))
    );
    fn test_field_ctx() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_memory>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ctx) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_memory),
                "::",
                stringify!(ctx)
            )
        );
    }
    test_field_ctx();
    fn test_field_read() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_memory>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).read) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_memory),
                "::",
                stringify!(read)
            )
        );
    }
    test_field_read();
    fn test_field_write() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_memory>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).write) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_memory),
                "::",
                stringify!(write)
            )
        );
    }
    test_field_write();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_host_options {
    pub vm: *const crate::ctypes::c_char,
    pub provider: *const crate::ctypes::c_char,
    pub memory: rs_guest_memory,
    pub clock: *const rs_clock,
    pub vcpus: u32,
    pub vcpu_ctx: *mut crate::ctypes::c_void,
    pub registers: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut crate::ctypes::c_void,
            vcpu: u32,
            regs: *mut rs_x86_regs,
        ) -> bool,
    >,
    pub unwind: ::core::option::Option<
        unsafe extern "C" fn(
            ctx: *mut crate::ctypes::c_void,
            vcpu: u32,
            frames: *mut u64,
            max: u32,
            by_fp: *mut u64,
        ) -> u32,
    >,
}
#[test]
fn bindgen_test_layout_rs_host_options() {
    assert_eq!(
        ::core::mem::size_of::<rs_host_options>(),
        80usize,
        concat!("Size of: ", stringify!(rs_host_options))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_host_options>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_host_options))
    );
    fn test_field_vm() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).vm) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(vm)
            )
        );
    }
    test_field_vm();
    fn test_field_provider() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).provider) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(provider)
            )
        );
    }
    test_field_provider();
    fn test_field_memory() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).memory) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(memory)
            )
        );
    }
    test_field_memory();
    fn test_field_clock() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).clock) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(clock)
            )
        );
    }
    test_field_clock();
    fn test_field_vcpus() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).vcpus) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(vcpus)
            )
        );
    }
    test_field_vcpus();
    fn test_field_vcpu_ctx() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).vcpu_ctx) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(vcpu_ctx)
            )
        );
    }
    test_field_vcpu_ctx();
    fn test_field_registers() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).registers) as usize - ptr as usize
            },
            64usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(registers)
            )
        );
    }
    test_field_registers();
    fn test_field_unwind() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_host_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).unwind) as usize - ptr as usize
            },
            72usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_host_options),
                "::",
                stringify!(unwind)
            )
        );
    }
    test_field_unwind();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_host_guest {
    _unused: [u8; 0],
}
extern "C" {
    pub fn rs_host_guest_create(
        options: *const rs_host_options,
        guest: *mut *mut rs_host_guest,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_host_guest_destroy(guest: *mut rs_host_guest);
}
extern "C" {
    pub fn rs_host_set_tsc_offset(
        guest: *mut rs_host_guest,
        vcpu: u32,
        offset: i64,
        error_cycles: u64,
    );
}
extern "C" {
    pub fn rs_host_set_area(guest: *mut rs_host_guest, gpa: u64);
}
extern "C" {
    pub fn rs_host_doorbell(
        guest: *mut rs_host_guest,
        vcpu: u32,
        eax: u32,
        rcx: u64,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_host_guest_end(guest: *mut rs_host_guest);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_recorder_options {
    pub directory: *const crate::ctypes::c_char,
    pub clock: rs_clock,
    pub poll_us: u32,
    pub flush_ms: u32,
    pub threads: u32,
    pub urgent: bool,
    pub command: *const crate::ctypes::c_char,
    pub keep_ns: u64,
    pub keep_bytes: u64,
}
#[test]
fn bindgen_test_layout_rs_recorder_options() {
    assert_eq!(
        ::core::mem::size_of::<rs_recorder_options>(),
        216usize,
        concat!("Size of: ", stringify!(rs_recorder_options))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_recorder_options>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_recorder_options))
    );
    fn test_field_directory() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).directory) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(directory)
            )
        );
    }
    test_field_directory();
    fn test_field_clock() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).clock) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(clock)
            )
        );
    }
    test_field_clock();
    fn test_field_poll_us() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).poll_us) as usize - ptr as usize
            },
            176usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(poll_us)
            )
        );
    }
    test_field_poll_us();
    fn test_field_flush_ms() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).flush_ms) as usize - ptr as usize
            },
            180usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(flush_ms)
            )
        );
    }
    test_field_flush_ms();
    fn test_field_threads() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).threads) as usize - ptr as usize
            },
            184usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(threads)
            )
        );
    }
    test_field_threads();
    fn test_field_urgent() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).urgent) as usize - ptr as usize
            },
            188usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(urgent)
            )
        );
    }
    test_field_urgent();
    fn test_field_command() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).command) as usize - ptr as usize
            },
            192usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(command)
            )
        );
    }
    test_field_command();
    fn test_field_keep_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).keep_ns) as usize - ptr as usize
            },
            200usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(keep_ns)
            )
        );
    }
    test_field_keep_ns();
    fn test_field_keep_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_options>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).keep_bytes) as usize - ptr as usize
            },
            208usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_options),
                "::",
                stringify!(keep_bytes)
            )
        );
    }
    test_field_keep_bytes();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_recorder {
    _unused: [u8; 0],
}
extern "C" {
    pub fn rs_recorder_create(
        options: *const rs_recorder_options,
        recorder: *mut *mut rs_recorder,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_recorder_add_trace(recorder: *mut rs_recorder) -> *mut rs_error;
}
extern "C" {
    pub fn rs_recorder_add_guest(
        recorder: *mut rs_recorder,
        guest: *mut rs_host_guest,
        poll: bool,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_recorder_remove_guest(
        recorder: *mut rs_recorder,
        guest: *mut rs_host_guest,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_recorder_drain_guest(
        recorder: *mut rs_recorder,
        guest: *const rs_host_guest,
        vcpu: u32,
    ) -> *mut rs_error;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_recorder_summary {
    pub records: u64,
    pub lost: u64,
    pub bytes: u64,
    pub streams: u64,
    pub silent_guests: u64,
}
#[test]
fn bindgen_test_layout_rs_recorder_summary() {
    assert_eq!(
        ::core::mem::size_of::<rs_recorder_summary>(),
        40usize,
        concat!("Size of: ", stringify!(rs_recorder_summary))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_recorder_summary>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_recorder_summary))
    );
    fn test_field_records() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_summary>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).records) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_summary),
                "::",
                stringify!(records)
            )
        );
    }
    test_field_records();
    fn test_field_lost() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_summary>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).lost) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_summary),
                "::",
                stringify!(lost)
            )
        );
    }
    test_field_lost();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_summary>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_summary),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
    fn test_field_streams() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_summary>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).streams) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_summary),
                "::",
                stringify!(streams)
            )
        );
    }
    test_field_streams();
    fn test_field_silent_guests() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_summary>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).silent_guests) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_summary),
                "::",
                stringify!(silent_guests)
            )
        );
    }
    test_field_silent_guests();
}
extern "C" {
    pub fn rs_recorder_progress(recorder: *const rs_recorder, summary: *mut rs_recorder_summary);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_recorder_kept {
    pub sum: rs_recorder_summary,
    pub from_ns: i64,
    pub at_ns: i64,
    pub short_of_bytes: bool,
}
#[test]
fn bindgen_test_layout_rs_recorder_kept() {
    assert_eq!(
        ::core::mem::size_of::<rs_recorder_kept>(),
        64usize,
        concat!("Size of: ", stringify!(rs_recorder_kept))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_recorder_kept>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_recorder_kept))
    );
    fn test_field_sum() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_kept>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).sum) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_kept),
                "::",
                stringify!(sum)
            )
        );
    }
    test_field_sum();
    fn test_field_from_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_kept>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).from_ns) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_kept),
                "::",
                stringify!(from_ns)
            )
        );
    }
    test_field_from_ns();
    fn test_field_at_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_kept>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).at_ns) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_kept),
                "::",
                stringify!(at_ns)
            )
        );
    }
    test_field_at_ns();
    fn test_field_short_of_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_recorder_kept>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).short_of_bytes) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_recorder_kept),
                "::",
                stringify!(short_of_bytes)
            )
        );
    }
    test_field_short_of_bytes();
}
extern "C" {
    pub fn rs_recorder_write_kept(
        recorder: *mut rs_recorder,
        directory: *const crate::ctypes::c_char,
        why: *const crate::ctypes::c_char,
        kept: *mut rs_recorder_kept,
    ) -> *mut rs_error;
}
extern "C" {
    pub fn rs_recorder_close(
        recorder: *mut rs_recorder,
        summary: *mut rs_recorder_summary,
    ) -> *mut rs_error;
}
pub const RS_ABI_ID_SPAN_BEGIN: u64 = 1048579;
pub const RS_ABI_ID_SPAN_END: u64 = 1048580;
pub const RS_ABI_HEAD_OURS: u64 = 36028797018963968;
pub const RS_ABI_USER_CLASS_0: u32 = 65536;
pub const RS_ABI_CLASS_ALL: u32 = 4294967295;
pub const RS_ABI_SLOTS_SHIFT: u32 = 48;
pub const RS_ABI_ID_VMM_0: u64 = 3145728;
