a:b:c:d:e { } // at 1:1
