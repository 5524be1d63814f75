// Package grant says which places an agent may reach in one person's home:
// the roots that are granted for reading and for writing, and the places that
// stay shut whatever is granted.
//
// Reader, scribe and keeper each judge with this package, from the same
// policy, so that no one of them can widen what another allows. It is pure: it
// sees a path's bytes and never a disk, so its answer cannot depend on whether
// anything is there.
//
// A path is judged in this order, and the first refusal stands:
//
//  1. it is absolute and clean;
//  2. the longest root that holds it, among all grants of the list, is found;
//     a write needs one in the read list and one in the write list;
//  3. a write goes under no name `.git`, and neither list entry nor staged
//     name covers the path;
//  4. the include of each grant found covers it.
//
// Roots are compared byte for byte: folding them would grant a directory that
// nobody named. Includes, the deny list and `.git` are compared with ASCII
// case folded, because a filesystem that folds would open the same file.
//
// What it does NOT do: it resolves no link, so a caller judges the path as it
// was given and again where it lands; it does not know the short aliases and
// trailing dots of FAT and its kin, nor a second hard link of a denied file;
// and a person's secret under a name that no entry lists is not protected.
package grant
