// args: -s {}
vmm:vcpu::exi { } // at 2:1
