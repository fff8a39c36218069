typedef int many[string];
BEGIN { trace(1); }
