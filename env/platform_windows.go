package env

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// osVersion returns the version, such as "Windows 10.0.22631".
func osVersion() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
