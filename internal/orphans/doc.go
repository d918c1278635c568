// Package orphans lets tests fail that leave processes behind.
package orphans
