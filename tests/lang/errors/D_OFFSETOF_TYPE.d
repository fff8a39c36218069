BEGIN { trace(offsetof(int, a)); }
// at 1:15
