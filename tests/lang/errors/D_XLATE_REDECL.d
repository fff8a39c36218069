struct o { int pid; };
translator struct o < int N > { pid = N; };
translator struct o < int M > { pid = M; };
BEGIN { trace(1); }
// at 3:1
