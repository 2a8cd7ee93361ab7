// Command hello is the first program of a machine that is only to show that its kernel boots.
package main

import (
	"os"
	"syscall"
)

func main() {
	os.Stdout.WriteString("hello from user space\n")
	syscall.Sync()
	_ = syscall.Reboot(
		syscall.LINUX_REBOOT_CMD_POWER_OFF,
	) // where it does not work this program ends, and the kernel with it
}
