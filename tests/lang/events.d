/* Counted by hand in what `print` shows of the trace. */
vmm:vcpu::exit { @reasons[stringof(args.reason)] = count(); }
vmm:vcpu::exit /args.reason == hlt/ { halts++; }
vmm:vcpu::exit /args[1] == EXIT_IO && args.detail == 0x5254/ { printf("%s %d %x\n", probename, arg0, arg2); }
guest:span::begin, guest:span::end { spans++; }
guest:span::begin /args.name == "hello"/ { printf("%s depth %d of %s/%d\n", args.name, args.depth, vm, vcpu); }
vmm:vm::load { printf("%s %d\n", args.image, args.size); }
::: { all++; }
END { printf("%d halts, %d spans, %d in all\n", halts, spans, all); }
