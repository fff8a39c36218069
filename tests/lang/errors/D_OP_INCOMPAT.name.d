vmm:vcpu::exit /args.reason == "htl"/ { trace(1); }
// at 1:32
