// Package show turns objects of the API into what switchctl prints: tables, descriptions, explanations, differences. It is
// pure: objects and the time go in, tables and text come out.
package show
