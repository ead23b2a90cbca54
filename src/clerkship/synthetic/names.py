"""Names, by where a family comes from, so that given and family names go together. Nobody real is meant."""

from typing import NamedTuple


class Origin(NamedTuple):
    """Names that go together, and the language some of these families speak at home."""

    weight: int
    language: tuple[str, str]
    speak_it: float
    female: tuple[str, ...]
    male: tuple[str, ...]
    family: tuple[str, ...]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ORIGINS = (
    Origin(
        34,
        ("en", "English"),
        1.0,
        _names(
            "Abigail Alice Audrey Beatrice Carol Charlotte Claire Deborah Dorothy Edith Eleanor Emma Evelyn Frances "
            "Grace Hannah Hazel Helen Irene Josephine Judith Laura Lillian Margaret Martha Nora Olive Pauline Rachel "
            "Rosemary Ruth Sarah Susan Vera Violet Winifred"
        ),
        _names(
            "Adam Albert Andrew Arthur Benjamin Caleb Charles Clarence Daniel Douglas Edwin Ernest Eugene Francis "
            "Frederick George Gilbert Harold Henry Howard Isaac Jacob Leonard Lewis Martin Nathan Oliver Patrick "
            "Raymond Roy Samuel Stanley Theodore Thomas Walter Warren"
        ),
        _names(
            "Abernathy Ashdown Barlow Birchall Blackwood Brookfield Calloway Carrow Chilton Colby Cranmer Dunmore "
            "Ellery Fairbanks Fenwick Garrity Goodwin Halloran Hargrove Hartwell Hollis Kirkland Langley Larkin "
            "Lockhart Marlowe Merriweather Northcott Ogden Pemberton Prescott Quimby Radcliffe Redfern Sedgwick "
            "Stanhope Thornbury Tilden Underhill Wakefield Whitcomb Winslow Yardley"
        ),
    ),
    Origin(
        18,
        ("es", "Spanish"),
        0.55,
        _names(
            "Adriana Ana Beatriz Camila Carmen Daniela Elena Esperanza Gabriela Inés Isabel Juana Lucía Marisol "
            "Mercedes Paloma Pilar Rosa Sofía Teresa Valentina Ximena Yolanda"
        ),
        _names(
            "Alejandro Andrés Antonio Carlos Diego Eduardo Emilio Esteban Felipe Gonzalo Ignacio Javier Joaquín José "
            "Julián Luis Manuel Mateo Miguel Rafael Ramón Santiago Tomás"
        ),
        _names(
            "Aguilar Barrera Bustamante Calderón Castañeda Delgado Escobar Figueroa Galindo Guerrero Ibarra Jiménez "
            "Ledesma Maldonado Navarro Núñez Olivares Paredes Quintana Rosales Salazar Trujillo Valdivia Zamora"
        ),
    ),
    Origin(
        12,
        ("en", "English"),
        1.0,
        _names("Aaliyah Denise Ebony Ernestine Imani Jada Keisha Latoya Monique Nia Patrice Simone Tamika Yvette"),
        _names("Darius Demetrius Elijah Isaiah Jamal Jerome Kendrick Malik Marcus Reginald Terrence Tyrone Xavier"),
        _names("Bolden Broussard Cager Dantley Fontenot Gadsden Hairston Mosley Pettway Ravenel Tolliver Vickers"),
    ),
    Origin(
        9,
        ("zh", "Chinese"),
        0.5,
        _names("Fang Hui Jing Lan Li-Hua Mei Min Qing Shu Xiu Ying Yun"),
        _names("Bao Chen-Wei Feng Guang Hao Jian Jun Kai Liang Ming Wen Zhi"),
        _names("Cai Deng Fong Gao Huang Jiang Kwan Liang Luo Pan Shen Tsai Xie Yuan Zhou"),
    ),
    Origin(
        8,
        ("hi", "Hindi"),
        0.35,
        _names("Aditi Anjali Deepa Divya Kavita Lakshmi Meera Nisha Priya Radha Shanti Sunita Usha"),
        _names("Arjun Ashok Deepak Harish Kiran Mohan Naveen Prakash Rajesh Sanjay Suresh Vikram Vivek"),
        _names("Bhandari Chopra Deshmukh Gokhale Iyer Joshi Kulkarni Mehta Nair Pillai Raghavan Saxena Trivedi"),
    ),
    Origin(
        6,
        ("ar", "Arabic"),
        0.5,
        _names("Aisha Amal Dalia Farah Hanan Layla Maryam Nadia Noor Rania Salma Yasmin Zainab"),
        _names("Ahmad Bilal Faisal Hassan Ibrahim Karim Khalil Mahmoud Nabil Omar Rashid Tariq Yusuf"),
        _names("Abboud Darwish Fakhoury Haddad Jabara Kassab Mansour Nasser Qasim Rahal Sabbagh Tannous"),
    ),
    Origin(
        5,
        ("vi", "Vietnamese"),
        0.6,
        _names("Bich Diep Hang Hoa Huong Lien Linh Loan Mai Ngoc Phuong Thuy Trang"),
        _names("Anh Binh Cuong Dung Hieu Hung Khoa Long Minh Quang Son Thanh Tuan"),
        _names("Bui Dang Dinh Doan Duong Huynh Lam Luong Mach Ngo Phan Thai Truong Vo"),
    ),
    Origin(
        5,
        ("pl", "Polish"),
        0.35,
        _names("Agnieszka Barbara Danuta Ewa Halina Jadwiga Joanna Krystyna Magdalena Renata Urszula Zofia"),
        _names("Andrzej Bogdan Grzegorz Jerzy Kazimierz Krzysztof Marek Piotr Ryszard Stanisław Tadeusz Zbigniew"),
        _names("Baranek Cieślak Dudek Gajda Jankowiak Kaczmarek Lisiecki Mazurek Nowicki Pawlak Sikora Wrona Zięba"),
    ),
    Origin(
        4,
        ("ht", "Haitian Creole"),
        0.5,
        _names("Cécile Fabienne Ghislaine Marie-Ange Mirlande Myriam Nadège Rose-Laure Solange Yolette"),
        _names("Emmanuel Fritz Jean-Robert Ludovic Marcelin Pierre-Louis Réginald Serge Wilner Yves"),
        _names("Augustin Belizaire Cadet Desrosiers Estimé Francillon Germain Jean-Baptiste Lafleur Saintil Toussaint"),
    ),
    Origin(
        4,
        ("yo", "Yoruba"),
        0.25,
        _names("Adaeze Amara Chiamaka Folake Ifeoma Ngozi Nkechi Olufunke Temitope Yetunde"),
        _names("Adebayo Babatunde Chidi Emeka Femi Kelechi Obinna Olumide Segun Tunde"),
        _names("Adeyemi Afolabi Balogun Chukwu Eze Nwosu Obi Okafor Okonkwo Olatunji Oyelaran Uzoma"),
    ),
    Origin(
        3,
        ("ko", "Korean"),
        0.5,
        _names("Eun-Ji Hye-Jin Ji-Woo Kyung-Hee Mi-Sook Seo-Yeon Soo-Jin Young-Mi"),
        _names("Dong-Hyun Hyun-Woo Jae-Sung Jin-Ho Kyung-Soo Min-Jun Sang-Hoon Young-Ho"),
        _names("Baek Cheon Gwak Hwang Jeong Koo Moon Noh Seo Shin Yoo Yoon"),
    ),
)
WEIGHTS = tuple(origin.weight for origin in ORIGINS)
SHORT = {
    "Abigail": "Abby",
    "Albert": "Al",
    "Andrew": "Andy",
    "Benjamin": "Ben",
    "Charles": "Charlie",
    "Daniel": "Dan",
    "Deborah": "Debbie",
    "Dorothy": "Dot",
    "Eleanor": "Ellie",
    "Frederick": "Fred",
    "Josephine": "Josie",
    "Leonard": "Len",
    "Margaret": "Peggy",
    "Samuel": "Sam",
    "Susan": "Sue",
    "Theodore": "Ted",
    "Thomas": "Tom",
    "Winifred": "Winnie",
}
"""What some are called; a second registration may have it."""
