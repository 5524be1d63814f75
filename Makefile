# Everything a person or CI calls. `make help` lists it.
export CGO_ENABLED = 0
GO ?= go

.PHONY: all build demo test race fuzz fault torture boot-root boot-trixie bench picture manual vet install uninstall deb clean help

all: build

BIN ?= bin
build: ## the four programs, into bin/
	$(GO) build -trimpath -o $(BIN)/ ./cmd/...

demo: build ## the whole road, in a temporary directory
	bin/countersign demo $(DEMO_FLAGS)

test: vet ## every test; those that need root run as root
	$(GO) test -count=1 -timeout 20m ./...

race: export CGO_ENABLED = 1
race: ## the tests under the race detector, but for those behind walls that only a program without cgo lives behind
	$(GO) test -race -count=1 $$($(GO) list ./... | grep -v -e internal/confine -e internal/daemon -e tests/boot)

FUZZTIME ?= 30s
fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; done; done

fault: ## every system call of a change failed with every error, and killed at; as root
	COUNTERSIGN_FAULT=all $(GO) test -count=1 -v -timeout 30m ./tests/fault

TORTURETIME ?= 10s
torture: ## other writers of every habit racing with changes, TORTURETIME each; prints what was lost
	COUNTERSIGN_TORTURE=$(TORTURETIME) $(GO) test -count=1 -v -timeout 60m ./tests/torture

TRIXIE ?= /var/tmp/countersign-trixie
boot-root: ## a Debian 13 root in TRIXIE, for tests/boot; as root, with mmdebstrap
	test -d $(TRIXIE) || { mmdebstrap --variant=minbase --dpkgopt=force-unsafe-io \
	  --include=systemd,systemd-sysv,dbus,libpam-systemd,git,make,procps trixie $(TRIXIE).new && mv $(TRIXIE).new $(TRIXIE); }

boot-trixie: boot-root ## tests/boot on that root as well
	COUNTERSIGN_BOOT_ROOT=$(TRIXIE) $(GO) test -count=1 ./tests/boot

bench: ## ratios, side by side in one run
	$(GO) test -run '^$$' -bench . -benchtime 3s ./tests/bench

picture: ## docs/screen.svg anew, from the real screen; as root, with tmux
	$(GO) test -count=1 ./tests/screen -run 'TestPicture$$' -picture $(CURDIR)/docs/screen.svg

manual: ## the manual page and the completions anew, from the table of commands
	$(GO) test -count=1 ./cmd/countersign -run TestManual -update

vet: ## formatting and go vet
	@test -z "$$(gofmt -l cmd internal tests)" || { gofmt -l cmd internal tests; exit 1; }
	$(GO) vet ./...

# Where things go. Units name the programs and the documents by /usr, which is
# rewritten to PREFIX. One is for the owners' own service managers.
PREFIX     ?= /usr/local
DESTDIR    ?=
libexec     = $(PREFIX)/libexec/countersign
doc         = $(PREFIX)/share/doc/countersign
man         = $(PREFIX)/share/man/man1
bash        = $(PREFIX)/share/bash-completion/completions
zsh        ?= $(PREFIX)/share/zsh/site-functions
fish        = $(PREFIX)/share/fish/vendor_completions.d
systemd     = $(PREFIX)/lib/systemd/system
user        = $(PREFIX)/lib/systemd/user
USERUNITS   = countersign-notify.service
UNITS       = $(filter-out $(USERUNITS),$(notdir $(wildcard units/*.service units/*.socket units/*.target)))
DOCS        = README.md ARCHITECTURE.md SECURITY.md $(wildcard docs/*.md)
into        = sed -e 's|/usr/bin/countersign|$(PREFIX)/bin/countersign|g' -e 's|/usr/libexec/countersign|$(libexec)|g' -e 's|/usr/share/doc/countersign|$(doc)|g'

install: ## what was built, with its units, under DESTDIR and PREFIX; as root
	@test -x $(BIN)/keeper || { echo "nothing is built in $(BIN)/: run make first"; exit 1; }
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(libexec) $(systemd) $(user) $(PREFIX)/lib/sysusers.d $(PREFIX)/lib/tmpfiles.d $(doc) $(man) $(bash) $(zsh) $(fish))
	install -d $(DESTDIR)/etc/countersign
	install -m 755 $(BIN)/countersign $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(addprefix $(BIN)/,keeper reader scribe) $(DESTDIR)$(libexec)/
	@set -e; umask 022; for u in $(UNITS); do echo "unit $$u"; $(into) "units/$$u" > "$(DESTDIR)$(systemd)/$$u"; done
	@set -e; umask 022; for u in $(USERUNITS); do echo "user unit $$u"; $(into) "units/$$u" > "$(DESTDIR)$(user)/$$u"; done
	install -m 644 units/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/countersign.conf
	install -m 644 units/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/countersign.conf
	install -m 644 $(DOCS) $(DESTDIR)$(doc)/
	install -m 755 docs/journal-check $(DESTDIR)$(doc)/
	install -m 644 docs/man/countersign.1 $(DESTDIR)$(man)/
	install -m 644 docs/completion/countersign.bash $(DESTDIR)$(bash)/countersign
	install -m 644 docs/completion/_countersign $(DESTDIR)$(zsh)/
	install -m 644 docs/completion/countersign.fish $(DESTDIR)$(fish)/
	@test -n "$(DESTDIR)" || sh packaging/after-install

uninstall: ## the programs and units; policy, journal and vault stay
	@test -n "$(DESTDIR)" || sh packaging/before-remove
	rm -rf $(DESTDIR)$(libexec) $(DESTDIR)$(doc)
	rm -f $(DESTDIR)$(PREFIX)/bin/countersign $(addprefix $(DESTDIR)$(systemd)/,$(UNITS)) $(addprefix $(DESTDIR)$(user)/,$(USERUNITS))
	rm -f $(addprefix $(DESTDIR),$(man)/countersign.1 $(bash)/countersign $(zsh)/_countersign $(fish)/countersign.fish)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/,sysusers.d/countersign.conf tmpfiles.d/countersign.conf)
	@test -n "$(DESTDIR)" || sh packaging/after-remove

VERSION ?= 0.1.0
DEB     ?= $(BIN)/countersign_$(VERSION).deb
deb: build ## a Debian package, in bin/
	BIN="$(BIN)" VERSION="$(VERSION)" DEB="$(DEB)" sh packaging/debian/build

clean: ## what was built
	rm -rf bin

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'
