// Helper for modules in Go: arguments, check mode and result. Copy this file next to `main.go`.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Result is the result of a module.
type Result map[string]any

// Failure ends the module with a failed result.
type Failure struct{ Msg string }

func (failure Failure) Error() string { return failure.Msg }

// Module is the current run.
type Module struct {
	Args      map[string]any
	CheckMode bool
	Diff      bool
}

// Text returns a required argument as text.
func (module Module) Text(name string) (string, error) {
	switch value := module.Args[name].(type) {
	case nil:
		return "", Failure{"missing required arguments: " + name}
	case string:
		return value, nil
	default:
		return fmt.Sprint(value), nil
	}
}

// Number returns a whole number, or nil. Numbers from KEY=VALUE arrive as text.
func (module Module) Number(name string) (any, error) {
	value := module.Args[name]
	if value == nil {
		return nil, nil
	}
	number, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	if err != nil {
		return nil, Failure{fmt.Sprintf("argument '%s' is not a whole number: %v", name, value)}
	}
	return number, nil
}

// Flag returns whether an argument is true.
func (module Module) Flag(name string) bool {
	switch strings.ToLower(fmt.Sprint(module.Args[name])) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// Run calls the module's function, prints its result and ends the program.
func Run(main func(Module) (Result, error)) {
	result, err := call(main)
	if err != nil {
		result = Result{"failed": true, "msg": err.Error()}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(result) != nil || err != nil {
		os.Exit(1)
	}
}

func call(main func(Module) (Result, error)) (result Result, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = Failure{fmt.Sprintf("the module panicked: %v", panicked)}
		}
	}()
	if len(os.Args) != 2 {
		return nil, Failure{"a module takes one argument, the path of a JSON file with its arguments"}
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Numbers keep their digits.
	decoder := json.NewDecoder(file)
	decoder.UseNumber()
	given := map[string]any{}
	if err := decoder.Decode(&given); err != nil {
		return nil, err
	}
	module := Module{Args: map[string]any{}, CheckMode: given["_ansible_check_mode"] == true, Diff: given["_ansible_diff"] == true}
	for name, value := range given {
		// Ansible's internal arguments.
		if !strings.HasPrefix(name, "_ansible_") {
			module.Args[name] = value
		}
	}
	return main(module)
}
