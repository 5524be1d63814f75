package policy

import "reflect"

// formOf says what the value of a key of the file looks like, for an error
// that names no type of this program's; the empty string where there is no
// such key.
func formOf(key []string) string {
	if len(key) == 0 {
		return ""
	}
	t := reflect.TypeFor[file]()
	for _, name := range key {
		if t = child(t, name); t == nil {
			return ""
		}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint32:
		return "a whole number from 0 to 4294967295"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list of tables"
	}
	return "a table"
}

// child gives the type of what name names in a t, or nil. Lists are looked
// through, as a key does not say which item it means.
func child(t reflect.Type, name string) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Tag.Get("toml") == name {
				return f.Type
			}
		}
	}
	return nil
}
