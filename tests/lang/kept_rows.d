/* trunc() removes the row that events of one kind keep adding to, and a new row appears. */
vmm:vcpu::exit { @[probename] = count(); }
vmm:vcpu::exit /++n == 2/ { printa("%s %@d\n", @); trunc(@); }
vmm:vcpu::exit { @s[probename] = sum(args.vcpu + 2); }
vmm:vcpu::exit /n == 3/ { clear(@s); }
END { printa("%s %@d\n", @); printa("%s %@d\n", @s); }
