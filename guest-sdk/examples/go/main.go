// Returns a greeting, and writes it to the file `path` if that is given.

package main

import (
	"errors"
	"io/fs"
	"os"
)

func main() { Run(greet) }

func greet(module Module) (Result, error) {
	name, err := module.Text("name")
	if err != nil {
		return nil, err
	}
	number, err := module.Number("n")
	if err != nil {
		return nil, err
	}
	greeting := "hello " + name
	if module.Flag("loud") {
		greeting += "!"
	}
	result := Result{"changed": false, "greeting": greeting, "n": number}
	if module.Args["path"] != nil {
		path, err := module.Text("path")
		if err != nil {
			return nil, err
		}
		if found, err := os.Stat(path); err == nil && found.IsDir() {
			return nil, Failure{path + " is a folder"}
		}
		before, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		differs := err != nil || string(before) != greeting+"\n"
		result["changed"] = differs
		if differs && !module.CheckMode {
			if err := os.WriteFile(path, []byte(greeting+"\n"), 0o644); err != nil {
				return nil, err
			}
		}
	}
	if module.CheckMode {
		result["check"] = true
	}
	return result, nil
}
