BEGIN { trace(@a); @a = count(); }
