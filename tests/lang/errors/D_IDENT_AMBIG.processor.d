// args: -s {} --on tests/corpus/xen/small.trace
/* Intel's and AMD's numbers of the exit differ. */
xdt:hvm::vmexit /(int)args.reason == HLT/ { @ = count(); }
// at 3:38
