BEGIN { trace(&5); }
// at 1:15
