/// The encoding that a file is written in, under a name that the system's converter knows.
struct TextEncoding: Sendable, Equatable {
    static let utf16LittleEndian = TextEncoding(converterName: "UTF-16LE", unit: 2)
    static let utf16BigEndian = TextEncoding(converterName: "UTF-16BE", unit: 2)

    let converterName: String
    /// The bytes to pass over when no character can be made of them.
    let unit: Int

    var isUTF8: Bool { converterName == "UTF-8" }

    /// Takes a name as PostgreSQL or as the rest of the world spells it.
    init?(_ name: String) {
        let name = name.uppercased()
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isPartOfName) else { return nil }
        converterName = Self.spelled(name)
        unit = Self.unit(of: converterName)
    }

    private init(converterName: String, unit: Int) {
        self.converterName = converterName
        self.unit = unit
    }

    /// The converter takes slashes as orders of how to convert.
    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-_:.".utf8.contains(byte)
        }
    }

    private static func spelled(_ name: String) -> String {
        switch name {
        case "UTF8", "UTF-8", "UTF_8": "UTF-8"
        // Without a mark at its start, UTF-16 is what most programs of today write.
        case "UTF16", "UTF-16", "UTF_16": "UTF-16"
        case "KOI8R": "KOI8-R"
        case "KOI8U": "KOI8-U"
        default: afterPostgreSQL(name)
        }
    }

    private static func afterPostgreSQL(_ name: String) -> String {
        if name.hasPrefix("WIN"), Int(name.dropFirst(3)) != nil {
            return "CP" + name.dropFirst(3)
        }
        if name.hasPrefix("EUC_") || name.hasPrefix("ISO_") {
            return name.replacing("_", with: "-")
        }
        return name
    }

    private static func unit(of name: String) -> Int {
        if name.hasPrefix("UTF-16") || name.hasPrefix("UCS-2") {
            return 2
        }
        return name.hasPrefix("UTF-32") || name.hasPrefix("UCS-4") ? 4 : 1
    }
}
