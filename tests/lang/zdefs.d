// args: -q -x zdefs -x nopushdown -s {} --on examples/traces/hello
no:such::probe { trace("never"); }
vmm:*::ex[h-j]t { @ = count(); }
