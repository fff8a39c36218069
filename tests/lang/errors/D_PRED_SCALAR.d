BEGIN /"a"/ { } // at 1:8
