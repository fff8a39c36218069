struct o { int pid; };
translator struct o < int N > { pid = N; };
BEGIN { trace(xlate <struct o> ("a").pid); }
// at 3:15
