BEGIN { x = 5; trace(*x); }
// at 1:22
