package check

// ByUser returns a fix that needs no more than the rights of a user.
func ByUser(text string, commands ...string) *Fix {
	return &Fix{Text: text, Commands: commands, Who: User}
}

// ByAdmin returns a fix that needs the rights of an administrator.
func ByAdmin(text string, commands ...string) *Fix {
	return &Fix{Text: text, Commands: commands, Who: Admin}
}
