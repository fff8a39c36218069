// args: -e -s {}
kvm:*::exit { x = HLT; } // at 2:19
