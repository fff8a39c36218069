vmm:vcpu::exit /args.reason == "htl"/ { trace(1); }
