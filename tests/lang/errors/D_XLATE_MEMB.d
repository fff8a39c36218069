struct o { string name; };
translator struct o < int N > { pid = N; };
BEGIN { trace(1); }
// at 2:33
