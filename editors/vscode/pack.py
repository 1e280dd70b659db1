#!/usr/bin/env python3
"""Packs this folder as an extension, without network: pack.py [OUT.vsix]. `code --install-extension OUT.vsix` installs it."""
import json
import pathlib
import sys
import xml.sax.saxutils as xml
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["package.json", "extension.js", "language-configuration.json", "syntaxes/tl.tmLanguage.json", "README.md"]
TYPES = {".json": "application/json", ".js": "application/javascript", ".md": "text/markdown", ".vsixmanifest": "text/xml"}
WRITTEN = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


def manifest(package):
    return """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"
    xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id=%(name)s Version=%(version)s Publisher=%(publisher)s/>
    <DisplayName>%(title)s</DisplayName>
    <Description xml:space="preserve">%(description)s</Description>
    <Categories>%(categories)s</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value=%(engine)s/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
""" % {
        **{word: xml.quoteattr(package[word]) for word in ("name", "version", "publisher")}, "title": xml.escape(package["displayName"]),
        "description": xml.escape(package["description"]), "categories": xml.escape(",".join(package["categories"])),
        "engine": xml.quoteattr(package["engines"]["vscode"])
    }


def main():
    package = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "%s-%s.vsix" % (package["name"], package["version"]))
    types = "".join('<Default Extension="%s" ContentType="%s"/>' % pair for pair in sorted(TYPES.items()))
    contents = {
        "[Content_Types].xml":
            '<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">%s</Types>\n' % types,
        "extension.vsixmanifest": manifest(package)
    }
    contents.update(("extension/" + name, (HERE / name).read_text(encoding="utf-8")) for name in FILES)
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in contents.items():
                archive.writestr(zipfile.ZipInfo(name, WRITTEN), text, zipfile.ZIP_DEFLATED)
    except OSError as error:
        sys.exit("pack.py: %s" % error)
    print(out)


main()
