// SPDX-License-Identifier: BSD-2-Clause
// Written by scripts/rust-abi from the headers in include/ringside: do not edit.

pub const RS_GUEST_RING_BYTES: u32 = 4194304;
pub const RS_SLOT_BYTES: u32 = 32;
pub const RS_RECORD_HEAD: u32 = 16;
pub const RS_RECORD_PAYLOAD_MAX: u32 = 2032;
pub const RS_STACK_DEPTH_MAX: u32 = 64;
pub const RS_KIT_ARGS_MAX: u32 = 6;
pub const RS_KIT_NAME_MAX: u32 = 64;
pub const RS_KIT_TEXT_MAX: u32 = 4096;
pub const RS_KIT_VECTORS: u32 = 32;
pub const RS_LOG_LINE_MAX: u32 = 320;
pub const RS_GUEST_LOG_EARLY_BYTES: u32 = 49408;
pub type __uint8_t = crate::ctypes::c_uchar;
pub type __uint32_t = crate::ctypes::c_uint;
pub type __int64_t = crate::ctypes::c_long;
pub type __uint64_t = crate::ctypes::c_ulong;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_ring {
    pub gpa: u64,
    pub bytes: u64,
}
#[test]
fn bindgen_test_layout_rs_guest_ring() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_ring>(),
        16usize,
        concat!("Size of: ", stringify!(rs_guest_ring))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_ring>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_ring))
    );
    fn test_field_gpa() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_ring>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).gpa) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_ring),
                "::",
                stringify!(gpa)
            )
        );
    }
    test_field_gpa();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_ring>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_ring),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_area {
    pub magic: u64,
    pub version: u32,
    pub bytes: u32,
    pub flags: u32,
    pub n_sites: u32,
    pub sites: u64,
    pub to_gpa: u64,
    pub log: u64,
    pub log_bytes: u64,
    pub self_: u64,
    pub ring: [rs_guest_ring; 256usize],
}
#[test]
fn bindgen_test_layout_rs_guest_area() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_area>(),
        4160usize,
        concat!("Size of: ", stringify!(rs_guest_area))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_area>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_area))
    );
    fn test_field_magic() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).magic) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(magic)
            )
        );
    }
    test_field_magic();
    fn test_field_version() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).version) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(version)
            )
        );
    }
    test_field_version();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_n_sites() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).n_sites) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(n_sites)
            )
        );
    }
    test_field_n_sites();
    fn test_field_sites() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).sites) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(sites)
            )
        );
    }
    test_field_sites();
    fn test_field_to_gpa() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).to_gpa) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(to_gpa)
            )
        );
    }
    test_field_to_gpa();
    fn test_field_log() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).log) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(log)
            )
        );
    }
    test_field_log();
    fn test_field_log_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).log_bytes) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(log_bytes)
            )
        );
    }
    test_field_log_bytes();
    fn test_field_self() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).self_) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(self_)
            )
        );
    }
    test_field_self();
    fn test_field_ring() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_area>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).ring) as usize - ptr as usize
            },
            64usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_area),
                "::",
                stringify!(ring)
            )
        );
    }
    test_field_ring();
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
extern "C" {
    pub fn rs_guest_producer(vcpu: u32) -> *mut rs_sbuf_producer;
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
pub const RS_GUEST_DOORBELL: rs_guest_hand_over = 0;
pub const RS_GUEST_SHARED: rs_guest_hand_over = 1;
pub const RS_GUEST_KEEP: rs_guest_hand_over = 2;
pub type rs_guest_hand_over = crate::ctypes::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_config {
    pub hand_over: rs_guest_hand_over,
    pub mask: u32,
    pub to_gpa: u64,
    pub own_this: bool,
}
#[test]
fn bindgen_test_layout_rs_guest_config() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_config>(),
        24usize,
        concat!("Size of: ", stringify!(rs_guest_config))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_config>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_config))
    );
    fn test_field_hand_over() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).hand_over) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_config),
                "::",
                stringify!(hand_over)
            )
        );
    }
    test_field_hand_over();
    fn test_field_mask() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).mask) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_config),
                "::",
                stringify!(mask)
            )
        );
    }
    test_field_mask();
    fn test_field_to_gpa() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).to_gpa) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_config),
                "::",
                stringify!(to_gpa)
            )
        );
    }
    test_field_to_gpa();
    fn test_field_own_this() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).own_this) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_config),
                "::",
                stringify!(own_this)
            )
        );
    }
    test_field_own_this();
}
pub const RS_GUEST_OK: rs_guest_status = 0;
pub const RS_GUEST_TOO_MANY_VCPUS: rs_guest_status = 1;
pub const RS_GUEST_BAD_RING: rs_guest_status = 2;
pub type rs_guest_status = crate::ctypes::c_uint;
extern "C" {
    pub static mut rs_guest_area: rs_guest_area;
}
extern "C" {
    pub fn rs_guest_start(config: *const rs_guest_config, begin: *mut rs_site, end: *mut rs_site);
}
extern "C" {
    pub fn rs_guest_vcpu_init(
        vcpu: u32,
        ring: *mut crate::ctypes::c_void,
        bytes: u64,
    ) -> rs_guest_status;
}
extern "C" {
    pub fn rs_guest_handler_enter(vcpu: u32);
}
extern "C" {
    pub fn rs_guest_abandon(vcpu: u32);
}
pub const RS_KIT_VOID: rs_kit_type = 1;
pub const RS_KIT_INT: rs_kit_type = 2;
pub const RS_KIT_BOOL: rs_kit_type = 3;
pub const RS_KIT_FLOAT: rs_kit_type = 4;
pub const RS_KIT_TEXT: rs_kit_type = 5;
pub const RS_KIT_BYTES: rs_kit_type = 6;
pub type rs_kit_type = crate::ctypes::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_kit_value {
    pub type_: u32,
    pub bytes: u32,
    pub v: u64,
}
#[test]
fn bindgen_test_layout_rs_kit_value() {
    assert_eq!(
        ::core::mem::size_of::<rs_kit_value>(),
        16usize,
        concat!("Size of: ", stringify!(rs_kit_value))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_kit_value>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_kit_value))
    );
    fn test_field_type() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_value>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).type_) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_value),
                "::",
                stringify!(type_)
            )
        );
    }
    test_field_type();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_value>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_value),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
    fn test_field_v() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_value>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).v) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_value),
                "::",
                stringify!(v)
            )
        );
    }
    test_field_v();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_kit_export {
    pub name: *const crate::ctypes::c_char,
    pub function: ::core::option::Option<unsafe extern "C" fn(args: *const rs_kit_args) -> u64>,
    pub n_args: u8,
    pub result: u8,
    pub params: [u8; 6usize],
    pub help: *const crate::ctypes::c_char,
}
#[test]
fn bindgen_test_layout_rs_kit_export() {
    assert_eq!(
        ::core::mem::size_of::<rs_kit_export>(),
        32usize,
        concat!("Size of: ", stringify!(rs_kit_export))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_kit_export>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_kit_export))
    );
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_function() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).function) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(function)
            )
        );
    }
    test_field_function();
    fn test_field_n_args() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).n_args) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(n_args)
            )
        );
    }
    test_field_n_args();
    fn test_field_result() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).result) as usize - ptr as usize
            },
            17usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(result)
            )
        );
    }
    test_field_result();
    fn test_field_params() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).params) as usize - ptr as usize
            },
            18usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(params)
            )
        );
    }
    test_field_params();
    fn test_field_help() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_export>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).help) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_export),
                "::",
                stringify!(help)
            )
        );
    }
    test_field_help();
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_kit_args {
    pub vcpu: u32,
    pub n: u32,
    pub v: [u64; 6usize],
    pub bytes: [u32; 6usize],
}
#[test]
fn bindgen_test_layout_rs_kit_args() {
    assert_eq!(
        ::core::mem::size_of::<rs_kit_args>(),
        80usize,
        concat!("Size of: ", stringify!(rs_kit_args))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_kit_args>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_kit_args))
    );
    fn test_field_vcpu() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_args>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).vcpu) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_args),
                "::",
                stringify!(vcpu)
            )
        );
    }
    test_field_vcpu();
    fn test_field_n() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_args>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).n) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_args),
                "::",
                stringify!(n)
            )
        );
    }
    test_field_n();
    fn test_field_v() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_args>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).v) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_args),
                "::",
                stringify!(v)
            )
        );
    }
    test_field_v();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_kit_args>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_kit_args),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
}
extern "C" {
    pub fn rs_kit_return_text(text: *const crate::ctypes::c_char) -> u64;
}
extern "C" {
    pub fn rs_kit_return_bytes(data: *const crate::ctypes::c_void, bytes: u32) -> u64;
}
extern "C" {
    pub fn rs_kit_call_host(
        name: *const crate::ctypes::c_char,
        args: *const rs_kit_value,
        n: u32,
        result: *mut rs_kit_value,
    ) -> bool;
}
extern "C" {
    pub fn rs_kit_print(text: *const crate::ctypes::c_char);
}
extern "C" {
    pub fn rs_kit_panic(why: *const crate::ctypes::c_char);
}
extern "C" {
    pub fn rs_kit_heap(memory: *mut crate::ctypes::c_void, bytes: u64);
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
    pub static mut rs_guest_log_levels: *const u32;
}
extern "C" {
    pub fn rs_guest_log_put(
        p: *mut rs_sbuf_producer,
        level: rs_log_level,
        format: *const crate::ctypes::c_char,
        ...
    );
}
extern "C" {
    pub fn rs_guest_log_early(mem: *mut crate::ctypes::c_void, bytes: u64) -> rs_guest_status;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rs_guest_log_config {
    pub memory: *mut crate::ctypes::c_void,
    pub bytes: u64,
    pub lanes: u32,
    pub trace_bytes: u64,
    pub tsc_hz: u64,
    pub wall_ns: i64,
    pub name: *const crate::ctypes::c_char,
    pub console: ::core::option::Option<
        unsafe extern "C" fn(text: *const crate::ctypes::c_char, bytes: u32),
    >,
}
#[test]
fn bindgen_test_layout_rs_guest_log_config() {
    assert_eq!(
        ::core::mem::size_of::<rs_guest_log_config>(),
        64usize,
        concat!("Size of: ", stringify!(rs_guest_log_config))
    );
    assert_eq!(
        ::core::mem::align_of::<rs_guest_log_config>(),
        8usize,
        concat!("Alignment of ", stringify!(rs_guest_log_config))
    );
    fn test_field_memory() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).memory) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(memory)
            )
        );
    }
    test_field_memory();
    fn test_field_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).bytes) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(bytes)
            )
        );
    }
    test_field_bytes();
    fn test_field_lanes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).lanes) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(lanes)
            )
        );
    }
    test_field_lanes();
    fn test_field_trace_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).trace_bytes) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(trace_bytes)
            )
        );
    }
    test_field_trace_bytes();
    fn test_field_tsc_hz() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).tsc_hz) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(tsc_hz)
            )
        );
    }
    test_field_tsc_hz();
    fn test_field_wall_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).wall_ns) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(wall_ns)
            )
        );
    }
    test_field_wall_ns();
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_console() {
        assert_eq!(
            unsafe {
                let uninit = ::core::mem::MaybeUninit::<rs_guest_log_config>::uninit();
                let ptr = uninit.as_ptr();
                ::core::ptr::addr_of!((*ptr).console) as usize - ptr as usize
            },
            56usize,
            concat!(
                "Offset of field: ",
                stringify!(rs_guest_log_config),
                "::",
                stringify!(console)
            )
        );
    }
    test_field_console();
}
extern "C" {
    pub fn rs_guest_log_start(config: *const rs_guest_log_config) -> rs_guest_status;
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
pub const RS_ABI_ID_SPAN_BEGIN: u64 = 1048579;
pub const RS_ABI_ID_SPAN_END: u64 = 1048580;
pub const RS_ABI_HEAD_OURS: u64 = 36028797018963968;
pub const RS_ABI_USER_CLASS_0: u32 = 65536;
pub const RS_ABI_CLASS_ALL: u32 = 4294967295;
pub const RS_ABI_SLOTS_SHIFT: u32 = 48;
pub const RS_ABI_ID_VMM_0: u64 = 3145728;
