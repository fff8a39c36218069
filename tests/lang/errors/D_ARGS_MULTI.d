// args: -s {}
vmm:vcpu::exit, vmm:vm::load { x = args[2]; } // at 2:36
