BEGIN { x = copyout(5); }
// at 1:13
