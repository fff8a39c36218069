// SPDX-License-Identifier: BSD-2-Clause
//! Programs of the host: counts of records, errors, a guest's memory that panics. This is one test,
//! because a process can trace only once.

use ringside::host::{self, Code, Guest, GuestMemory, GuestOptions, Recorder, RecorderOptions};
use ringside::{class, emit, event, log, span, stack, Span};

ringside::classes! { app = 0; quiet = 15; }
event! {
    struct Empty = app, "empty" {}
}
event! {
    struct Wide = app, "wide" { a: u8, b: u16, c: u32, d: u64, e: i8, f: i16, g: i32, h: x64 }
}
event! {
    struct Named = app, "named" { what: name, value: s64 }
}

/// A guest without RAM.
struct NoRam;

impl GuestMemory for NoRam {
    fn read(&self, _: u64, _: &mut [u8]) -> bool {
        panic!("a panic in a callback fails the callback")
    }

    fn write(&self, _: u64, _: &[u8]) -> bool {
        false
    }
}

fn fails(n: u64) {
    let _span = span!(app, "fails", n);
    panic!("ends its span");
}

fn spans(n: u64) {
    for i in 0..n {
        let _outer = span!(app, "outer");
        let _inner = span!(app, "inner", i);
    }
}

#[test]
fn records_and_errors() {
    let directory = std::env::temp_dir().join(format!("ringside-rust-{}", std::process::id()));
    let path = directory.to_str().unwrap();

    let error = host::start(&host::TraceOptions { provider: "no spaces", ..Default::default() });
    assert_eq!(error.unwrap_err().code(), Code::Usage);
    let error = host::start(&host::TraceOptions { provider: "a\0b", ..Default::default() });
    assert_eq!(error.unwrap_err().code(), Code::Usage);
    spans(3); // not traced yet

    host::start(&host::TraceOptions { provider: "rust", ..Default::default() }).unwrap();
    assert_eq!(host::start(&host::TraceOptions::default()).unwrap_err().code(), Code::Usage);
    let recorder = Recorder::create(RecorderOptions::to(path)).unwrap();
    assert_eq!(Recorder::create(RecorderOptions::to(path)).err().unwrap().code(), Code::Usage);
    recorder.add_trace().unwrap();

    let mut expected = 0;
    spans(97);
    expected += 97 * 4;
    std::thread::spawn(|| spans(31)).join().unwrap();
    expected += 31 * 4;
    assert!(std::panic::catch_unwind(|| fails(1)).is_err());
    expected += 2;
    emit!(Empty {});
    emit!(Wide { a: 1, h: 0xff, ..Default::default() });
    emit!(Named { what: host::name("a name").unwrap(), value: -1 });
    expected += 3;
    drop(Span::begin(app, host::name("at run time").unwrap(), 7));
    expected += 2;
    drop(Span::begin(app, 0, 7)); // no name
    emit!(ringside::vmm::vcpu_exit { vcpu: 0, reason: 5, detail: 0 });
    emit!(ringside::vmm::vm_load { entry: 1, size: 2 }, "image");
    expected += 2;
    stack!("here");
    expected += 1;
    log!(Warning, "a line, {} of them", 1); // also an event
    log!(Debug, "no sink accepts {}", {
        expected += 1000;
        1
    });
    expected += 1;

    host::set_mask(class::Class::ALL.mask() & !app.mask());
    spans(5);
    emit!(Wide {
        a: {
            expected += 1000;
            1
        },
        ..Default::default()
    });
    host::set_mask(0);
    let _ = span!(quiet, "off", {
        expected += 1000;
        1
    });

    let options = GuestOptions { vm: "none", provider: None, vcpus: 0 };
    assert_eq!(Guest::create(&options, recorder.clock(), NoRam).err().unwrap().code(), Code::Usage);
    let options = GuestOptions { vm: "none", provider: None, vcpus: 2 };
    let guest = Guest::create(&options, recorder.clock(), NoRam).unwrap();
    let mut vcpu = guest.vcpu(1).unwrap();
    assert!(guest.vcpu(1).is_none() && guest.vcpu(2).is_none());
    assert_eq!(recorder.drain(&mut vcpu).unwrap_err().code(), Code::Usage);
    recorder.add_guest(&guest, false).unwrap();
    assert_eq!(recorder.add_guest(&guest, false).unwrap_err().code(), Code::Usage);
    recorder.drain(&mut vcpu).unwrap();
    assert_eq!(vcpu.doorbell(1, 4096).unwrap_err().code(), Code::Damaged);
    assert_eq!(vcpu.doorbell(99, 0).unwrap_err().code(), Code::Usage);
    drop(vcpu);
    assert!(guest.vcpu(1).is_some());
    recorder.remove_guest(&guest).ok();
    assert_eq!(recorder.remove_guest(&guest).unwrap_err().code(), Code::Usage);

    let sum = recorder.close().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((sum.records, sum.lost), (expected, 0));
}
