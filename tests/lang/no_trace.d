// args: -s {}
kvm:::exit { }
