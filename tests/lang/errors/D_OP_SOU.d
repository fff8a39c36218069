BEGIN { x = 5; trace(x.a); }
// at 1:22
