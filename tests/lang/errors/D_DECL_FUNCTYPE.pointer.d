struct s { int (*f)(int); };
BEGIN { trace(1); }
// at 1:16
