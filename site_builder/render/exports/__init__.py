"""A configuration in the forms that other tools read. One module a target."""
