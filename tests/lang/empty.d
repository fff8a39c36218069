// args: -s {} --on examples/traces/hello
vmm:vm::destroy
