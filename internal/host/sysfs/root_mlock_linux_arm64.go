package sysfs

// sysMlock2 is mlock2(2), which package syscall does not name.
const sysMlock2 = 284
