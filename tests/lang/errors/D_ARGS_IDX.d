// args: -s {}
vmm:vcpu::exit { x = args[3]; } // at 2:22
