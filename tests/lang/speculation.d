/* Only those runs of the vCPU that end in an exit by io are kept; nspec allows one speculation. */
vmm:vcpu::run { self->spec = speculation(); }
vmm:vcpu::run { speculate(self->spec); printf("run at %d\n", timestamp); }
vmm:vcpu::exit { speculate(self->spec); printf("exit %s\n", stringof(args.reason)); }
vmm:vcpu::exit /args.reason == io/ { commit(self->spec); self->spec = 0; }
vmm:vcpu::exit /args.reason != io/ { discard(self->spec); self->spec = 0; }
