// args: -s {}
vmm:vm::load { x = arg2; } // at 2:20
