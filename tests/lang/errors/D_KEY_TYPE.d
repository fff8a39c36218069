BEGIN { @[@b] = count(); }
