// args: -e -s {}
kvm:::exit { @[stringof(args.reason), args.tid] = count(); }
