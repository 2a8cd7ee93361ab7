package replay

import (
	"errors"
	"syscall"
)

// errnos are the errors of reading sysfs, procfs and device nodes.
var errnos = map[string]syscall.Errno{
	"EPERM": syscall.EPERM, "EACCES": syscall.EACCES, "EINVAL": syscall.EINVAL, "EIO": syscall.EIO,
	"EAGAIN": syscall.EAGAIN, "ENODEV": syscall.ENODEV, "ENXIO": syscall.ENXIO, "ENOENT": syscall.ENOENT,
	"EBUSY": syscall.EBUSY, "ENOMEM": syscall.ENOMEM, "ETIMEDOUT": syscall.ETIMEDOUT, "ENODATA": syscall.ENODATA,
	"EOPNOTSUPP": syscall.EOPNOTSUPP, "ENOSYS": syscall.ENOSYS,
	"ENETUNREACH": syscall.ENETUNREACH, "EHOSTUNREACH": syscall.EHOSTUNREACH,
	"EISDIR": syscall.EISDIR, "ENOTDIR": syscall.ENOTDIR, "ELOOP": syscall.ELOOP,
}

// ErrnoName returns the name of an error for Errno, "EIO" for an error that it does not know.
func ErrnoName(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		for name, e := range errnos {
			if e == errno {
				return name
			}
		}
	}
	return "EIO"
}

// Errno returns the error of that name, such as "EIO".
func Errno(name string) (errno syscall.Errno, known bool) {
	errno, known = errnos[name]
	return errno, known
}
