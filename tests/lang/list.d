// args: -l -s {} --on examples/traces/hello
BEGIN, vmm:vcpu::, tick-1s { }
